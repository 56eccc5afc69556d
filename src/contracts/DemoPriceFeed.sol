// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";

/// @title A price feed for local chains with Chainlink's AggregatorV3Interface. Its owner sets the price.
/// @notice Nobody reports here hourly, so the newest answer always counts as current and is never stale.
contract DemoPriceFeed is Ownable {
    uint256 public constant version = 1;
    uint8 public immutable decimals;
    string public description;

    struct Round {
        int256 answer;
        uint256 updatedAt;
    }

    uint80 private _latest;
    mapping(uint80 id => Round) private _rounds;

    error NoSuchRound(uint80 id);

    event AnswerUpdated(int256 indexed current, uint256 indexed roundId, uint256 updatedAt);

    constructor(uint8 decimals_, string memory description_, address owner_) Ownable(owner_) {
        decimals = decimals_;
        description = description_;
    }

    function setAnswer(int256 answer) external onlyOwner {
        _latest += 1;
        _rounds[_latest] = Round(answer, block.timestamp);
        emit AnswerUpdated(answer, _latest, block.timestamp);
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return getRoundData(_latest);
    }

    function getRoundData(uint80 id) public view returns (uint80, int256, uint256, uint256, uint80) {
        Round storage round = _rounds[id];
        if (round.updatedAt == 0) revert NoSuchRound(id);
        uint256 updatedAt = id == _latest ? block.timestamp : round.updatedAt;
        return (id, round.answer, updatedAt, updatedAt, id);
    }
}
