"""def not_this(): in a text."""
import asyncio
from dataclasses import dataclass

RATE = 0.19


@dataclass(frozen=True)
class Price:
    cents: int

    def with_tax(self, rate: float = RATE) -> "Price":
        def rounded(value):
            return round(value)

        return Price(rounded(self.cents * (1 + rate)))

    @staticmethod
    async def fetched(
        code: str,
        *,
        retries: int = 3,
    ) -> "Price":
        await asyncio.sleep(0)
        return Price(0)


class Broken(Exception): ...


async def main():
    print(await Price.fetched("x"))


if __name__ == "__main__":
    asyncio.run(main())
