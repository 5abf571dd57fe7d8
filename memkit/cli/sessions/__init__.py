"""``memkit sessions``: the conversations that this machine keeps."""
