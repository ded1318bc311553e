"""Blender plays a GLB; all parts of the head must be where fascia has them.
usage: blender -b --factory-startup --python-exit-code 7 --python check_parts.py -- FILE.glb TRUTH.json SECONDS TOLERANCE_MM

TRUTH.json is of tests/parts_truth.c. Every vertex of every part must lie on one that Blender shows."""
import json
import sys

import numpy as np

# the importer of Blender 3.4 uses names that newer numpy dropped
for name, kind in (("bool", bool), ("int", int), ("float", float), ("object", object)):
    if name not in np.__dict__:
        setattr(np, name, kind)

import bpy  # noqa: E402

path, truth_path, seconds, tolerance = sys.argv[sys.argv.index("--") + 1:]
with open(truth_path) as f:
    truth = json.load(f)
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=path, merge_vertices=False)
scene = bpy.context.scene
at = float(seconds) * scene.render.fps / scene.render.fps_base
scene.frame_set(int(at), subframe=at - int(at))
graph = bpy.context.evaluated_depsgraph_get()
cloud = []
for o in bpy.data.objects:
    if o.type != "MESH":
        continue
    shown = o.evaluated_get(graph)
    mesh = shown.to_mesh()
    flat = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", flat)
    p = np.c_[flat.reshape(-1, 3), np.ones(len(mesh.vertices))] @ np.array(shown.matrix_world).T
    cloud.append(np.stack([p[:, 0], p[:, 2], -p[:, 1]], axis=1))  # Blender is z up: back to the file's axes
cloud = np.concatenate(cloud)
worst = 0.0
for part in truth["parts"]:
    want = np.asarray(part["world"]).reshape(-1, 3)
    off = max(np.sqrt(((cloud - w) ** 2).sum(axis=1).min()) for w in want[:: max(1, len(want) // 200)])
    off *= 1000 * truth["unit"]
    worst = max(worst, off)
    print(f"blender: {part['name'] or 'face'} ({part['follows']}) within {off:.4f} mm")
assert worst <= float(tolerance), f"a part is off by {worst} mm"
