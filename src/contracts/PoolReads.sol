// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Asks pools of exchanges what they give for several amounts. Never deployed: it is the data of an `eth_call` without
/// `to`, so that it runs as a constructor, and its return data is the result.
///
/// Pools and tokens are contracts of anybody. Each question has its own gas limit, and a pool that uses all of it is not
/// asked again in this call, so what it costs is bounded and the others answer.
///
/// Pools of the second stage are asked for the best answers of the first: the amounts of a token between two others. An
/// exact output is asked backwards, so there the last hop is the first stage, and the best answer is the smallest.
///
/// The result has three words for each pool, and one for each amount. The first says what became of it: 0 every question
/// was answered, 1 one used up its gas, 2 some were not asked for lack of gas. The next two are its state: the square
/// root of the price of a V3 pool, or both reserves of a V2 pair; 0 for a pool without a price, or with nothing to give.
/// An answer of 0 means that the pool cannot exchange the amount before its price is 64 times worse.
contract PoolReads {
    struct Pool {
        /// QuoterV2, or zero for a V2 pair.
        address quoter;
        address pool;
        address tokenIn;
        address tokenOut;
        /// Millionths.
        uint256 fee;
        /// 0 or 1.
        uint256 stage;
    }

    struct Asking {
        uint256 gasLimit;
        bool exactOutput;
        uint256[] amounts;
        /// Of all pools.
        uint256[] result;
    }

    uint256 private constant MIN_SQRT_PRICE = 4295128739;
    uint256 private constant MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970342;
    /// The price of a V3 pool may move by the square of this.
    uint256 private constant MOST_MOVED = 8;
    uint256 private constant PPM = 1_000_000;
    /// A V2 pair keeps its reserves in 112 bits.
    uint256 private constant MOST = 1 << 112;
    uint256 private constant STATE_GAS = 100_000;
    /// Some tokens compute a balance from others.
    uint256 private constant BALANCE_GAS = 300_000;
    /// For the loop, and to return the result at 200 gas a byte.
    uint256 private constant RESERVED_GAS = 2_500_000;

    constructor(uint256 gasLimit, bool exactOutput, uint256[] memory amounts, Pool[] memory pools) {
        uint256[] memory result = new uint256[](pools.length * (3 + amounts.length));
        Asking memory asking = Asking(gasLimit, exactOutput, amounts, result);
        askStage(asking, pools, 0);
        asking.amounts = bestOf(asking, pools);
        askStage(asking, pools, 1);
        assembly {
            return(add(result, 32), mul(mload(result), 32))
        }
    }

    function askStage(Asking memory asking, Pool[] memory pools, uint256 stage) private {
        for (uint256 i = 0; i < pools.length; i++) {
            if (pools[i].stage == stage) read(asking, pools[i], i * (3 + asking.amounts.length));
        }
    }

    function bestOf(Asking memory asking, Pool[] memory pools) private pure returns (uint256[] memory best) {
        uint256 count = asking.amounts.length;
        best = new uint256[](count);
        for (uint256 i = 0; i < pools.length; i++) {
            for (uint256 k = 0; pools[i].stage == 0 && k < count; k++) {
                uint256 answer = asking.result[i * (3 + count) + 3 + k];
                bool better = asking.exactOutput ? best[k] == 0 || answer < best[k] : answer > best[k];
                if (answer != 0 && better) best[k] = answer;
            }
        }
    }

    /// @param place where the words of the pool begin
    function read(Asking memory asking, Pool memory pool, uint256 place) private {
        uint256[] memory result = asking.result;
        if (gasleft() < RESERVED_GAS + STATE_GAS * 2 + BALANCE_GAS) {
            result[place] = 2;
            return;
        }
        if (pool.quoter == address(0)) {
            readPair(asking, pool, place);
            return;
        }
        if (!hasOutput(pool)) return;
        result[place + 1] = wordOf(pool.pool, abi.encodeWithSignature("slot0()"), 0);
        for (uint256 k = 0; result[place + 1] != 0 && k < asking.amounts.length; k++) {
            if (asking.amounts[k] == 0) continue;
            bool spent = true;
            bool tried = gasleft() > RESERVED_GAS + (asking.gasLimit * 64) / 63;
            if (tried) (result[place + 3 + k], spent) = quote(asking, pool, asking.amounts[k], result[place + 1]);
            if (!spent) continue;
            result[place] = tried ? 1 : 2;
            return;
        }
    }

    /// What the pool computes, as its router does.
    function readPair(Asking memory asking, Pool memory pool, uint256 place) private view {
        bytes memory getReserves = abi.encodeWithSignature("getReserves()");
        (uint256 reserveIn, uint256 reserveOut) = (wordOf(pool.pool, getReserves, 0), wordOf(pool.pool, getReserves, 1));
        if (reserveIn == 0 || reserveOut == 0 || reserveIn >= MOST || reserveOut >= MOST) return;
        (asking.result[place + 1], asking.result[place + 2]) = (reserveIn, reserveOut);
        if (pool.tokenIn > pool.tokenOut) (reserveIn, reserveOut) = (reserveOut, reserveIn);
        for (uint256 k = 0; k < asking.amounts.length; k++) {
            asking.result[place + 3 + k] = asking.exactOutput
                ? inFor(asking.amounts[k], reserveIn, reserveOut, pool.fee)
                : outFor(asking.amounts[k], reserveIn, reserveOut, pool.fee);
        }
    }

    function outFor(uint256 amount, uint256 reserveIn, uint256 reserveOut, uint256 fee) private pure returns (uint256) {
        if (amount == 0 || amount >= MOST) return 0;
        uint256 kept = amount * (PPM - fee);
        return (kept * reserveOut) / (reserveIn * PPM + kept);
    }

    function inFor(uint256 amount, uint256 reserveIn, uint256 reserveOut, uint256 fee) private pure returns (uint256) {
        if (amount == 0 || amount >= reserveOut) return 0;
        return (reserveIn * amount * PPM) / ((reserveOut - amount) * (PPM - fee)) + 1;
    }

    /// @param price the square root of the price of the pool
    function quote(Asking memory asking, Pool memory pool, uint256 amount, uint256 price)
        private
        returns (uint256 answer, bool spent)
    {
        // Where liquidity ends, a pool searches on to the end of all prices.
        uint256 last = lastPrice(price, pool.tokenIn < pool.tokenOut);
        bytes memory data = abi.encodeWithSelector(
            asking.exactOutput ? bytes4(0xbd21704a) : bytes4(0xc6a5026a),
            pool.tokenIn,
            pool.tokenOut,
            amount,
            pool.fee,
            last
        );
        (uint256 limit, address quoter) = (asking.gasLimit, pool.quoter);
        (uint256 priceAfter, uint256 used, bool answered) = (0, gasleft(), false);
        assembly {
            answered := call(limit, quoter, 0, add(data, 32), mload(data), 0, 64)
            answered := and(answered, gt(returndatasize(), 63))
            answer := mload(0)
            priceAfter := mload(32)
        }
        used -= gasleft();
        // The quoter does not refuse to fill a part: the price is then the last one.
        if (answered) return (priceAfter == last ? 0 : answer, false);
        return (0, used > limit - limit / 16);
    }

    function lastPrice(uint256 price, bool falls) private pure returns (uint256) {
        uint256 last = falls ? price / MOST_MOVED : price * MOST_MOVED;
        if (last <= MIN_SQRT_PRICE) return MIN_SQRT_PRICE + 1;
        return last < MAX_SQRT_PRICE ? last : MAX_SQRT_PRICE - 1;
    }

    /// A pool with none of a token gives none: an empty one need not be searched to its end. A token that does not say is asked.
    function hasOutput(Pool memory pool) private view returns (bool) {
        bytes memory data = abi.encodeWithSignature("balanceOf(address)", pool.pool);
        (address token, bool known, uint256 held) = (pool.tokenOut, false, 0);
        assembly {
            known := staticcall(BALANCE_GAS, token, add(data, 32), mload(data), 0, 32)
            known := and(known, gt(returndatasize(), 31))
            held := mload(0)
        }
        return !known || held > 0;
    }

    function wordOf(address target, bytes memory data, uint256 index) private view returns (uint256 word) {
        assembly {
            let answered := staticcall(STATE_GAS, target, add(data, 32), mload(data), 0, 64)
            if and(answered, gt(returndatasize(), mul(index, 32))) { word := mload(mul(index, 32)) }
        }
    }
}
