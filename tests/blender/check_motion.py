"""Blender plays a GLB and must show what fascia says: the face as skin and shapes move it, its head on its neck.
usage: blender -b --factory-startup --python-exit-code 7 --python check_motion.py -- FILE.glb WORLD.pc2 REST JOINT X,Y,Z FPS TOLERANCE_MM

WORLD.pc2: the face's vertices in the world, frame by frame; REST.obj: the same at rest, by which they are found again (Blender
has vertices between materials twice), or - where its frame is another: then each is near some vertex of the face. JOINT is within 1 mm of X,Y,Z (y up), or of where it is first (-), in every
frame."""
import struct
import sys

import numpy as np

# the importer of Blender 3.4 uses names that newer numpy dropped
for name, kind in (("bool", bool), ("int", int), ("float", float), ("object", object)):
    if name not in np.__dict__:
        setattr(np, name, kind)

import bpy  # noqa: E402
from mathutils.kdtree import KDTree  # noqa: E402

path, cache, neutral, joint, place, fps, tolerance = sys.argv[sys.argv.index("--") + 1:]
place = None if place == "-" else np.array([float(v) for v in place.split(",")])
data = open(cache, "rb").read()
points, frames = struct.unpack("<i", data[16:20])[0], struct.unpack("<i", data[28:32])[0]
want = np.frombuffer(data, dtype=np.float32, offset=32).reshape(frames, points, 3)

bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.fps = int(float(fps))
bpy.ops.import_scene.gltf(filepath=path, merge_vertices=False)
meshes = [o for o in bpy.data.objects if o.type == "MESH" and o.data.shape_keys]
face = max(meshes, key=lambda o: len(o.data.shape_keys.key_blocks))
rig = next(o for o in bpy.data.objects if o.type == "ARMATURE")
count = len(face.data.vertices)
assert count >= points, (count, points)


def y_up(p):
    return np.stack([p[..., 0], p[..., 2], -p[..., 1]], axis=-1)


def tree_of(cloud):
    tree = KDTree(len(cloud))
    for i, p in enumerate(cloud):
        tree.insert(p, i)
    tree.balance()
    return tree


def find_twins():
    tree = tree_of([[float(v) for v in line.split()[1:4]] for line in open(neutral) if line.startswith("v ")])
    basis = np.empty(3 * count, dtype=np.float32)
    face.data.shape_keys.key_blocks[0].data.foreach_get("co", basis)
    found = [[i for _, i, _ in tree.find_range(p, 2e-6)] for p in y_up(basis.reshape(-1, 3))]
    assert all(found), "a vertex is nowhere in the rest shape"
    most = max(map(len, found))
    return np.array([t + t[:1] * (most - len(t)) for t in found])  # some lie on each other at rest: any of them


def distance(x, truth):
    if twins is not None:
        return np.linalg.norm(x[:, None] - truth[twins], axis=2).min(axis=1).max()
    tree = tree_of(x)
    return max(tree.find(p)[2] for p in truth[::7])


twins = None if neutral == "-" else find_twins()
worst = off = 0.0
for f in range(0, frames, 1 if twins is not None else max(1, frames // 4)):
    scene.frame_set(f)  # the importer puts time 0 at frame 0
    graph = bpy.context.evaluated_depsgraph_get()
    shown = face.evaluated_get(graph)
    mesh = shown.to_mesh()
    flat = np.empty(3 * count, dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    m = np.array(shown.matrix_world)
    x = flat.reshape(-1, 3) @ m[:3, :3].T + m[:3, 3]
    worst = max(worst, float(distance(y_up(x), want[f])))
    bone = rig.evaluated_get(graph).pose.bones[joint]
    at = np.array(rig.matrix_world @ bone.matrix)[:3, 3]
    place = y_up(at) if place is None else place
    off = max(off, float(np.linalg.norm(y_up(at) - place)))
    shown.to_mesh_clear()
print(f"blender: {frames} frames, vertices within {1e3 * worst:.4f} mm, {joint} within {1e3 * off:.4f} mm of the neck")
assert worst <= 1e-3 * float(tolerance), worst
assert off <= 1e-3, off
