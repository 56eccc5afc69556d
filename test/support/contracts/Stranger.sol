// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IFactory {
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address pool);
}

interface IPool {
    function initialize(uint160 sqrtPriceX96) external;
    function token0() external view returns (address);
    function token1() external view returns (address);
    function mint(address recipient, int24 lower, int24 upper, uint128 amount, bytes calldata data)
        external
        returns (uint256, uint256);
}

interface IToken {
    function transfer(address to, uint256 amount) external returns (bool);
}

/// Makes pools of Uniswap V3 with any price and any positions, and pays for them with what it has.
contract Stranger {
    function make(IFactory factory, address a, address b, uint24 fee, uint160 sqrtPrice) external {
        IPool(factory.createPool(a, b, fee)).initialize(sqrtPrice);
    }

    /// Positions side by side, each of one width, the lowest first.
    function fill(IPool pool, int24 lowest, int24 width, uint256 count, uint128 liquidity) external {
        for (uint256 i = 0; i < count; i++) {
            int24 lower = lowest + width * int24(uint24(i));
            pool.mint(address(this), lower, lower + width, liquidity, "");
        }
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata) external {
        if (amount0 > 0) IToken(IPool(msg.sender).token0()).transfer(msg.sender, amount0);
        if (amount1 > 0) IToken(IPool(msg.sender).token1()).transfer(msg.sender, amount1);
    }
}
