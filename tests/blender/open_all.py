"""Blender imports each file: it has meshes, shape keys and keyframes on them; materials and skins are there; and a body's head
that turns stays within 1 mm of its neck.
usage: blender -b --factory-startup --python-exit-code 7 --python open_all.py -- FILE.glb..."""
import json
import struct
import sys

import numpy as np

# the importer of Blender 3.4 uses names that newer numpy dropped
for name, kind in (("bool", bool), ("int", int), ("float", float), ("object", object)):
    if name not in np.__dict__:
        setattr(np, name, kind)

import bpy  # noqa: E402


def document(path):
    data = open(path, "rb").read()
    return json.loads(data[20 : 20 + struct.unpack_from("<I", data, 12)[0]])


def turning_joints(doc):
    """Joints that are turned and not moved: a head on its neck."""
    joints = {j for s in doc.get("skins", []) for j in s["joints"]}
    paths = {}
    for a in doc.get("animations", []):
        for c in a["channels"]:
            paths.setdefault(c["target"].get("node"), set()).add(c["target"]["path"])
    return [doc["nodes"][n].get("name", "") for n, p in paths.items() if n in joints and p & {"rotation"} and not p & {"translation"}]


def neck_moves(doc, rig):
    """How far such a joint gets from where it is at first, m, and how far it turns, degrees."""
    scene, unit = bpy.context.scene, doc["asset"].get("extras", {}).get("fascia", {}).get("unit", 1)
    last = int(max(a.frame_range[1] for a in bpy.data.actions))
    far = turned = 0.0
    for name in turning_joints(doc):
        first = None
        for f in range(0, last + 1, max(1, last // 12)):
            scene.frame_set(f)
            pose = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[name].matrix
            m = rig.matrix_world @ pose
            first = first or m.copy()
            far = max(far, (m.translation - first.translation).length * unit)
            angle = np.degrees(m.to_quaternion().rotation_difference(first.to_quaternion()).angle)
            turned = max(turned, min(angle, 360 - angle))
    return far, turned


bad = []
for path in sys.argv[sys.argv.index("--") + 1 :]:
    doc = document(path)
    if "EXT_meshopt_compression" in doc.get("extensionsRequired", []):
        print(f"blender: {path}: compressed, which its importer does not read")
        continue
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path)
    meshes = [o for o in bpy.data.objects if o.type == "MESH" and o.name.split(".")[0] != "Icosphere"]  # the importer's own
    keys = max((len(o.data.shape_keys.key_blocks) for o in meshes if o.data.shape_keys), default=0)
    curves = sum(len(a.fcurves) for a in bpy.data.actions)
    bare = [o.name for o in meshes if not any(o.data.materials)]
    skinned = sum("skin" in n and "mesh" in n for n in doc["nodes"])
    on_bones = sum(any(m.type == "ARMATURE" for m in o.modifiers) and bool(o.vertex_groups) for o in meshes)
    rigs = [o for o in bpy.data.objects if o.type == "ARMATURE"]
    far, turned = neck_moves(doc, rigs[0]) if rigs and curves else (0, 0)
    print(f"blender: {path}: {len(meshes)} meshes, {keys} shape keys, {curves} curves, {len(bpy.data.materials)} materials, {on_bones} skinned; head turned by {turned:.1f} degrees, {1e3 * far:.4f} mm off its neck")
    shown = sum("mesh" in n for n in doc["nodes"])
    for wrong, why in (
        (len(meshes) != shown, f"{len(meshes)} meshes, the file shows {shown}"),
        (keys < 2 or not curves, "no shapes that move"),
        (bare and doc.get("materials"), f"without a material: {bare}"),
        (on_bones != skinned, f"{on_bones} meshes on bones, {skinned} in the file"),
        (far > 1e-3, f"the head is {1e3 * far:.2f} mm off its neck"),
    ):
        if wrong:
            bad.append(f"{path}: {why}")
for b in bad:
    print(f"blender: {b}")
sys.exit(7 if bad else 0)
