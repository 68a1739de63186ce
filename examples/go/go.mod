module crosswind/chat

go 1.24
