"""Methods that a model proposed: asked for, kept on the disk for review, and promoted by a person."""
