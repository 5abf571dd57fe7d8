"""``memkit chat``: one turn, lines through a pipe, or a talk on a terminal, and the commands of each."""
