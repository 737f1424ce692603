"""What the drill tests share: the layer's line."""
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

pytest_plugins = ["layer"]
