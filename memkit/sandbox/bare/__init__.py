"""Code that runs without memkit: in the confined interpreter, in an evaluator's process, in the module it imports.

Standard library and relative imports only, so that an interpreter without memkit can load this folder as a package.
"""
