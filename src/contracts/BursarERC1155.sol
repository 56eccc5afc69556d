// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC165} from "@openzeppelin/contracts/interfaces/IERC165.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {ERC1155Burnable} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Burnable.sol";
import {CollectionArgs, Traits} from "./nft/CollectionConfig.sol";
import {Vouchers} from "./nft/Vouchers.sol";

/// @title A collection of ERC-1155 tokens. Used through clones that BursarFactory creates.
/// @notice An id is minted once, in an amount that can only decrease afterwards. A mint does not call the receiver
/// (`onERC1155Received`), so that its gas is known and no receiver can break a batch.
contract BursarERC1155 is Vouchers, ERC1155Burnable {
    constructor() ERC1155("") {}

    function mint(address to, uint256 tokenId, uint256 amount, bytes32 digest) external onlyOwner {
        Traits traits = CollectionArgs.traits();
        _release(traits, tokenId, 1);
        _mintToken(traits, to, tokenId, amount, digest);
    }

    /// @notice Mints ids from `firstId` on, one to each recipient: all or none.
    function mintBatch(
        uint256 firstId,
        address[] calldata recipients,
        uint256[] calldata amounts,
        bytes32[] calldata digests
    ) external onlyOwner {
        uint256 count = recipients.length;
        if (count == 0 || count != amounts.length || count != digests.length) {
            revert InvalidBatchLength(count, amounts.length, digests.length);
        }
        Traits traits = CollectionArgs.traits();
        _release(traits, firstId, count);
        for (uint256 i = 0; i < count; i++) {
            _mintToken(traits, recipients[i], firstId + i, amounts[i], digests[i]);
        }
    }

    function name() external view returns (string memory) {
        return CollectionArgs.name();
    }

    function symbol() external view returns (string memory) {
        return CollectionArgs.symbol();
    }

    function uri(uint256 tokenId) public view override returns (string memory) {
        return _tokenURI(tokenId);
    }

    function supportsInterface(bytes4 interfaceId) public view override(ERC1155, IERC165) returns (bool) {
        return _supportsExtension(interfaceId) || super.supportsInterface(interfaceId);
    }

    function _mintToken(Traits traits, address to, uint256 tokenId, uint256 amount, bytes32 digest) internal override {
        if (to == address(0)) revert ERC1155InvalidReceiver(to);
        if (amount == 0) revert InvalidAmount(amount);
        _requireDigest(digest);
        _use(tokenId, digest);
        uint256[] memory ids = new uint256[](1);
        uint256[] memory amounts = new uint256[](1);
        (ids[0], amounts[0]) = (tokenId, amount);
        _update(address(0), to, ids, amounts);
        if (!traits.transferable()) emit Locked(tokenId);
    }

    function _update(address from, address to, uint256[] memory ids, uint256[] memory values) internal override {
        super._update(from, to, ids, values);
        if (from != address(0) && to != address(0) && ids.length > 0 && !CollectionArgs.traits().transferable()) {
            revert TokenLocked(ids[0]);
        }
    }

    /// @dev ERC-1155 has its own event for a changed URI.
    function _metadataUpdated(uint256 tokenId) internal override {
        super._metadataUpdated(tokenId);
        emit URI(_tokenURI(tokenId), tokenId);
    }
}
