"""A target for memkit; nothing here is imported, memkit reads the files beside this one."""
