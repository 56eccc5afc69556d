// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Non-transferable tokens: https://eips.ethereum.org/EIPS/eip-5192
/// @dev Its ERC-165 identifier is 0xb45a3c0e. `Unlocked` is omitted: no token is ever unlocked.
interface IERC5192 {
    event Locked(uint256 tokenId);

    function locked(uint256 tokenId) external view returns (bool);
}
