"""The machines on sockets: `adapters.sync`, `adapters.asyncio`, `adapters.trio`, of one contract, none importing another."""
