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
/// A V3 pool is asked for every amount, and then for amounts between them: where the answers bend most, and where they
/// end, so that a caller knows what it gives for any part.
///
/// The result has a word for what each pool is, and `POINTS` for what it gives. In the first, the highest byte says what
/// became of it: 0 every question was answered, 1 one used up its gas, 2 some were not asked for lack of gas. Below is the
/// square root of the price of a V3 pool, or both reserves of a V2 pair in 112 bits each; 0 for a pool without a price, or
/// with nothing to give. A point is an amount in the upper half and its answer in the lower half, which is 0 if the pool
/// cannot exchange the amount before its price is 64 times worse; a point of 0 was not asked.
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
        /// Ascending.
        uint256[] amounts;
        /// Of all pools.
        uint256[] result;
    }

    uint256 private constant POINTS = 9;
    uint256 private constant WIDTH = 1 + POINTS;
    uint256 private constant MIN_SQRT_PRICE = 4295128739;
    uint256 private constant MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970342;
    /// The price of a V3 pool may move by the square of this.
    uint256 private constant MOST_MOVED = 8;
    uint256 private constant PPM = 1_000_000;
    /// A V2 pair keeps its reserves in 112 bits.
    uint256 private constant MOST = 1 << 112;
    uint256 private constant MOST_ANSWER = (1 << 128) - 1;
    uint256 private constant STATE_GAS = 100_000;
    /// Some tokens compute a balance from others.
    uint256 private constant BALANCE_GAS = 300_000;
    /// For the loop, and to return the result at 200 gas a byte.
    uint256 private constant RESERVED_GAS = 4_200_000;

    constructor(uint256 gasLimit, bool exactOutput, uint256[] memory amounts, Pool[] memory pools) {
        uint256[] memory result = new uint256[](pools.length * WIDTH);
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
            if (pools[i].stage == stage) read(asking, pools[i], i * WIDTH);
        }
    }

    /// The best answers of the first stage to each amount.
    function bestOf(Asking memory asking, Pool[] memory pools) private pure returns (uint256[] memory best) {
        uint256 count = asking.amounts.length;
        best = new uint256[](count);
        for (uint256 i = 0; i < pools.length; i++) {
            for (uint256 k = 0; pools[i].stage == 0 && k < count; k++) {
                uint256 answer = asking.result[i * WIDTH + 1 + k] & MOST_ANSWER;
                bool better = asking.exactOutput ? best[k] == 0 || answer < best[k] : answer > best[k];
                if (answer != 0 && better) best[k] = answer;
            }
        }
        // Where no pool can exchange the whole amount, the most that one gives.
        uint256 most = 0;
        for (uint256 i = 0; i < pools.length * POINTS; i++) {
            uint256 answer = asking.result[(i / POINTS) * WIDTH + 1 + (i % POINTS)] & MOST_ANSWER;
            if (pools[i / POINTS].stage == 0 && answer > most) most = answer;
        }
        if (count > 1 && best[count - 1] == 0 && most > best[count - 2]) best[count - 1] = most;
    }

    /// @param place where the words of the pool begin
    function read(Asking memory asking, Pool memory pool, uint256 place) private {
        if (gasleft() < RESERVED_GAS + STATE_GAS * 2 + BALANCE_GAS) {
            asking.result[place] = 2 << 248;
            return;
        }
        if (pool.quoter == address(0)) {
            readPair(asking, pool, place);
            return;
        }
        if (!hasOutput(pool)) return;
        uint256 price = wordOf(pool.pool, abi.encodeWithSignature("slot0()"), 0);
        if (price < MIN_SQRT_PRICE || price > MAX_SQRT_PRICE) return;
        asking.result[place] = price;
        uint256 outcome = 0;
        for (uint256 k = 0; k < POINTS && outcome == 0; k++) {
            uint256 amount = k < asking.amounts.length ? asking.amounts[k] : between(asking, place, k);
            if (amount == 0 && k >= asking.amounts.length) break;
            if (amount == 0) continue;
            outcome = ask(asking, pool, place + 1 + k, amount, price);
        }
        asking.result[place] |= outcome << 248;
    }

    /// @return 0 answered, 1 used up its gas, 2 not asked
    function ask(Asking memory asking, Pool memory pool, uint256 place, uint256 amount, uint256 price)
        private
        returns (uint256)
    {
        if (gasleft() < RESERVED_GAS + (asking.gasLimit * 64) / 63) return 2;
        (uint256 answer, bool spent) = quote(asking, pool, amount, price);
        if (spent) return 1;
        asking.result[place] = amount << 128 | (answer > MOST_ANSWER ? 0 : answer);
        return 0;
    }

    /// The middle of the two neighbours between which the least is known; 0 where enough is known.
    function between(Asking memory asking, uint256 place, uint256 count) private pure returns (uint256 amount) {
        unchecked {
            uint256[] memory points = new uint256[](count + 1);
            uint256 used = 1;
            for (uint256 k = 0; k < count; k++) {
                uint256 point = asking.result[place + 1 + k];
                if (point == 0) continue;
                uint256 i = used++;
                for (; points[i - 1] > point; i--) points[i] = points[i - 1];
                points[i] = point;
            }
            uint256 most = 0;
            uint256 before = 0;
            uint256 first = used > 1 ? slopeOf(0, points[1]) : 0;
            for (uint256 i = 1; i < used; i++) {
                // From here, no swap goes on: the pool has lost a third of its price.
                if (asking.exactOutput ? before > first + first / 2 : i > 1 && before < first - first / 3) break;
                uint256 width = (points[i] >> 128) - (points[i - 1] >> 128);
                uint256 slope = slopeOf(points[i - 1], points[i]);
                uint256 doubt;
                uint256 answer = points[i] & MOST_ANSWER;
                if (answer == 0) {
                    // The end: half of what it might give there.
                    if (i > 1 && (points[i - 1] & MOST_ANSWER) == 0) break;
                    doubt = ((before * width) >> 64) / 2;
                    if (i == 1) doubt = MOST_ANSWER;
                } else {
                    uint256 next = i + 1 < used && (points[i + 1] & MOST_ANSWER) != 0 ? slopeOf(points[i], points[i + 1]) : slope;
                    uint256 bent = distance(before == 0 ? slope : before, slope) + distance(slope, next);
                    doubt = ((bent * width) >> 64) / 8;
                }
                before = slope;
                if (doubt > most && doubt > (points[i - 1] & MOST_ANSWER) / 50_000 && width > 1) {
                    most = doubt;
                    amount = (points[i - 1] >> 128) + width / 2;
                }
            }
        }
    }

    /// The answer for one more unit, as a fraction of 2^64.
    function slopeOf(uint256 a, uint256 b) private pure returns (uint256) {
        unchecked {
            uint256 width = (b >> 128) - (a >> 128);
            return width == 0 ? 0 : (distance(b & MOST_ANSWER, a & MOST_ANSWER) << 64) / width;
        }
    }

    function distance(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a - b : b - a;
    }

    /// What the pool computes, as its router does.
    function readPair(Asking memory asking, Pool memory pool, uint256 place) private view {
        bytes memory getReserves = abi.encodeWithSignature("getReserves()");
        (uint256 reserveIn, uint256 reserveOut) = (wordOf(pool.pool, getReserves, 0), wordOf(pool.pool, getReserves, 1));
        if (reserveIn == 0 || reserveOut == 0 || reserveIn >= MOST || reserveOut >= MOST) return;
        asking.result[place] = reserveIn << 112 | reserveOut;
        if (pool.tokenIn > pool.tokenOut) (reserveIn, reserveOut) = (reserveOut, reserveIn);
        for (uint256 k = 0; k < asking.amounts.length; k++) {
            uint256 amount = asking.amounts[k];
            uint256 answer = asking.exactOutput
                ? inFor(amount, reserveIn, reserveOut, pool.fee)
                : outFor(amount, reserveIn, reserveOut, pool.fee);
            asking.result[place + 1 + k] = amount << 128 | (answer > MOST_ANSWER ? 0 : answer);
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
