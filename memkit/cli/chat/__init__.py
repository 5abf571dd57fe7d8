"""``memkit chat``: one turn, lines through a pipe, or a conversation on a terminal, and their commands."""
