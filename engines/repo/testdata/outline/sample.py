import os
class Row(Base):
    async def read(self, path):
        def inner(): pass
def main():
