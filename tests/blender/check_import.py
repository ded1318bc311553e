"""Blender imports a GLB and must find what fascia wrote: shape names, counts, positions, keys.
usage: blender -b --factory-startup --python-exit-code 7 --python check_import.py -- FILE.glb EXPECT.json

EXPECT.json: {"vertices": n, "shapes": [names], "positions": {"": [...], "jawOpen": [...]}, "tolerance": m, "frames": n}
Positions are flat lists in the file's own order and axes (y up); only the first len(list)/3 vertices are compared."""
import json
import sys

import numpy as np

# the importer of Blender 3.4 uses names that newer numpy dropped
for name, kind in (("bool", bool), ("int", int), ("float", float), ("object", object)):
    if name not in np.__dict__:
        setattr(np, name, kind)

import bpy  # noqa: E402

path, expect_path = sys.argv[sys.argv.index("--") + 1:]
with open(expect_path) as f:
    expect = json.load(f)
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.gltf(filepath=path, merge_vertices=False)
meshes = [o for o in bpy.data.objects if o.type == "MESH"]
face = max(meshes, key=lambda o: len(o.data.shape_keys.key_blocks) if o.data.shape_keys else 0)
keys = face.data.shape_keys.key_blocks if face.data.shape_keys else []

names = [k.name for k in keys][1:]
assert len(face.data.vertices) == expect["vertices"], (len(face.data.vertices), expect["vertices"])
assert names == expect["shapes"], (names[:5], expect["shapes"][:5], len(names), len(expect["shapes"]))


def positions(block):
    flat = np.empty(3 * len(block.data), dtype=np.float32)
    block.data.foreach_get("co", flat)
    p = flat.reshape(-1, 3)
    return np.stack([p[:, 0], p[:, 2], -p[:, 1]], axis=1)  # Blender is z up: back to the file's axes


worst = 0.0
for name, want in expect["positions"].items():
    got = positions(keys[name] if name else keys[0])
    want = np.asarray(want, dtype=np.float64).reshape(-1, 3)
    worst = max(worst, float(np.abs(got[: len(want)] - want).max()))
assert worst <= expect["tolerance"], f"positions differ by {worst} m"

frames = 0
action = face.data.shape_keys.animation_data.action if keys and face.data.shape_keys.animation_data else None
if action:
    frames = max(len(c.keyframe_points) for c in action.fcurves)
if "frames" in expect:
    assert frames == expect["frames"], (frames, expect["frames"])
print(f"blender: {len(names)} shapes, {len(face.data.vertices)} vertices, {frames} keys, positions within {worst:.2e} m")
