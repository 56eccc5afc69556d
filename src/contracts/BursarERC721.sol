// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC165} from "@openzeppelin/contracts/interfaces/IERC165.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";
import {CollectionArgs, Traits} from "./nft/CollectionConfig.sol";
import {Vouchers} from "./nft/Vouchers.sol";

/// @title A collection of ERC-721 tokens. Used through clones that BursarFactory creates.
/// @notice A mint does not call the receiver (`onERC721Received`), so that its gas is known and no receiver can break a
/// batch.
contract BursarERC721 is Vouchers, ERC721Burnable {
    constructor() ERC721("", "") {}

    function mint(address to, uint256 tokenId, bytes32 digest) external onlyOwner {
        Traits traits = CollectionArgs.traits();
        _release(traits, tokenId, 1);
        _mintOne(traits, to, tokenId, digest);
    }

    /// @notice Mints ids from `firstId` on, one to each recipient: all or none.
    function mintBatch(uint256 firstId, address[] calldata recipients, bytes32[] calldata digests) external onlyOwner {
        uint256 count = recipients.length;
        if (count == 0 || count != digests.length) revert InvalidBatchLength(count, count, digests.length);
        Traits traits = CollectionArgs.traits();
        _release(traits, firstId, count);
        for (uint256 i = 0; i < count; i++) {
            _mintOne(traits, recipients[i], firstId + i, digests[i]);
        }
    }

    function name() public view override returns (string memory) {
        return CollectionArgs.name();
    }

    function symbol() public view override returns (string memory) {
        return CollectionArgs.symbol();
    }

    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        _requireMinted(tokenId);
        return _tokenURI(tokenId);
    }

    function supportsInterface(bytes4 interfaceId) public view override(ERC721, IERC165) returns (bool) {
        return _supportsExtension(interfaceId) || super.supportsInterface(interfaceId);
    }

    function _mintToken(Traits traits, address to, uint256 tokenId, uint256 amount, bytes32 digest) internal override {
        if (amount != 1) revert InvalidAmount(amount);
        _mintOne(traits, to, tokenId, digest);
    }

    function _mintOne(Traits traits, address to, uint256 tokenId, bytes32 digest) private {
        if (to == address(0)) revert ERC721InvalidReceiver(to);
        _requireDigest(digest);
        _use(tokenId, digest);
        // An unused id has no holder, so its previous holder can only be the zero address.
        super._update(to, tokenId, address(0));
        if (!traits.transferable()) emit Locked(tokenId);
    }

    function _update(address to, uint256 tokenId, address auth) internal override returns (address from) {
        from = super._update(to, tokenId, auth);
        if (from != address(0) && to != address(0) && !CollectionArgs.traits().transferable()) revert TokenLocked(tokenId);
    }

    function _requireMinted(uint256 tokenId) internal view override {
        _requireOwned(tokenId);
    }
}
