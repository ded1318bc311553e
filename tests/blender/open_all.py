# blender -b --python open_all.py -- FILE.glb... : import each; it has meshes, shape keys and keyframes on them.
import sys

import bpy

bad = 0
for path in sys.argv[sys.argv.index("--") + 1 :]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=path)
    meshes = [o for o in bpy.data.objects if o.type == "MESH"]
    keys = max((len(o.data.shape_keys.key_blocks) for o in meshes if o.data.shape_keys), default=0)
    curves = sum(len(a.fcurves) for a in bpy.data.actions)
    print(f"blender: {path}: {len(meshes)} meshes, {keys} shape keys, {curves} curves")
    bad += not meshes or keys < 2 or not curves
sys.exit(7 if bad else 0)
