// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC2981} from "@openzeppelin/contracts/interfaces/IERC2981.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {CollectionArgs, CollectionKind, Traits} from "./CollectionConfig.sol";
import {ContentURI} from "./ContentURI.sol";
import {IERC5192} from "./IERC5192.sol";
import {IERC7572} from "./IERC7572.sol";

/// @title The common part of collections of both standards: minting rights, metadata and supply.
/// @notice Invariant: a token id is used at most once, by a mint, a voucher or a revocation, burnt or not.
abstract contract Collection is Ownable, IERC2981, IERC5192, IERC7572 {
    using Checkpoints for Checkpoints.Trace208;

    /// @notice The only address that may initialize a clone, in the transaction that creates it.
    address public immutable factory;

    /// Instead of a digest: the id was revoked before it was minted.
    bytes32 internal constant REVOKED = bytes32(uint256(1));
    /// ERC-165 identifier of https://eips.ethereum.org/EIPS/eip-4906
    bytes4 private constant ERC4906_ID = 0x49064906;
    uint256 private constant BPS = 10_000;
    /// How many ids a mint of a SERIES may skip. Without a bound one mint of the last id would end it.
    uint256 private constant MAX_SKIPPED = 1_000_000;

    // These two share the slot of the owner, which a mint reads anyway. Without a limit and a sequence nothing is
    // counted.
    uint48 private _minted;
    uint48 private _lastInSeries;

    struct Token {
        /// Invariant: never cleared, so that an id stays used after its token was burnt.
        bytes32 digest;
        bool frozen;
    }

    mapping(uint256 id => Token) private _tokens;
    /// The difference between ids and edition numbers, from an id on: skipped ids have no edition.
    Checkpoints.Trace208 private _skipped;

    error OnlyFactory(address caller);
    error TokenIdUsed(uint256 tokenId);
    error TokenIdRevoked(uint256 tokenId);
    error TokenNotMinted(uint256 tokenId);
    error TokenLocked(uint256 tokenId);
    error TokenFrozen(uint256 tokenId);
    error InvalidDigest(bytes32 digest);
    error InvalidAmount(uint256 amount);
    error InvalidBatchLength(uint256 recipients, uint256 amounts, uint256 digests);
    error MaxSupplyExceeded(uint256 total, uint256 maxSupply);
    error NotInSequence(uint256 tokenId, uint256 lastTokenId);
    error TooManySkipped(uint256 tokenId, uint256 lastTokenId);
    error NotASeries();
    error NotDynamic();

    /// @dev ERC-4906.
    event MetadataUpdate(uint256 _tokenId);
    /// @dev The marketplaces' event for metadata that is permanently frozen.
    event PermanentURI(string _value, uint256 indexed _id);

    /// @dev The implementation belongs to the factory, which never mints: it can only be used through a clone.
    constructor() Ownable(msg.sender) {
        factory = msg.sender;
    }

    /// @notice Called once by the factory, right after it created the clone.
    function initialize(address initialOwner) external {
        if (msg.sender != factory) revert OnlyFactory(msg.sender);
        if (initialOwner == address(0)) revert OwnableInvalidOwner(initialOwner);
        _transferOwnership(initialOwner);
        if (CollectionArgs.contractDigest() != 0) emit ContractURIUpdated();
    }

    /// @notice Changes the metadata of a token of a DYNAMIC collection.
    function setTokenDigest(uint256 tokenId, bytes32 digest) external onlyOwner {
        _requireChangeable(tokenId);
        _requireDigest(digest);
        _tokens[tokenId].digest = digest;
        _metadataUpdated(tokenId);
    }

    /// @notice Permanently freezes a token's metadata.
    function freeze(uint256 tokenId) external onlyOwner {
        _requireChangeable(tokenId);
        _tokens[tokenId].frozen = true;
        _metadataUpdated(tokenId);
        emit PermanentURI(_tokenURI(tokenId), tokenId);
    }

    /// @notice Whether a token's metadata can never change again.
    function frozen(uint256 tokenId) external view returns (bool) {
        _requireMinted(tokenId);
        return CollectionArgs.traits().kind() != CollectionKind.DYNAMIC || _tokens[tokenId].frozen;
    }

    /// @notice SHA-256 of the token's metadata, also for a burnt token.
    function tokenDigest(uint256 tokenId) public view returns (bytes32 digest) {
        digest = _tokens[tokenId].digest;
        if (uint256(digest) <= uint256(REVOKED)) revert TokenNotMinted(tokenId);
    }

    /// @notice Edition n of N of a SERIES: the n-th released token, of at most N; N is 0 for an open series.
    function edition(uint256 tokenId) external view returns (uint256 number, uint256 size) {
        if (!CollectionArgs.traits().isSeries()) revert NotASeries();
        tokenDigest(tokenId);
        return (tokenId - _skipped.upperLookup(uint48(tokenId)), CollectionArgs.traits().maxSupply());
    }

    /// @notice The maximum number of ids; 0 for no limit.
    function maxSupply() external view returns (uint256) {
        return CollectionArgs.traits().maxSupply();
    }

    /// @notice How many more ids may be minted. Burning a token does not increase it.
    function remainingSupply() external view returns (uint256) {
        uint256 max = CollectionArgs.traits().maxSupply();
        return max == 0 ? type(uint256).max : max - _minted;
    }

    function kind() external view returns (CollectionKind) {
        return CollectionArgs.traits().kind();
    }

    function transferable() external view returns (bool) {
        return CollectionArgs.traits().transferable();
    }

    /// @inheritdoc IERC5192
    function locked(uint256 tokenId) external view returns (bool) {
        _requireMinted(tokenId);
        return !CollectionArgs.traits().transferable();
    }

    /// @inheritdoc IERC7572
    function contractURI() external view returns (string memory) {
        bytes32 digest = CollectionArgs.contractDigest();
        return digest == 0 ? "" : ContentURI.uri(CollectionArgs.baseURI(), digest);
    }

    /// @inheritdoc IERC2981
    function royaltyInfo(uint256, uint256 salePrice) external view returns (address receiver, uint256 royaltyAmount) {
        Traits traits = CollectionArgs.traits();
        return (traits.royaltyRecipient(), (salePrice * traits.royaltyBps()) / BPS);
    }

    /// @dev Counts ids from `firstId` on if there is a limit, and reverts when the supply is exceeded.
    function _release(Traits traits, uint256 firstId, uint256 count) internal {
        bool series = traits.isSeries();
        uint256 max = traits.maxSupply();
        if (max == 0 && !series) return;
        uint256 minted;
        // 2 ** 48 mints are not affordable.
        unchecked {
            minted = _minted + count;
            _minted = uint48(minted);
        }
        if (max != 0 && minted > max) revert MaxSupplyExceeded(minted, max);
        if (series) _releaseInSequence(firstId, count, minted - count);
    }

    function _releaseInSequence(uint256 firstId, uint256 count, uint256 minted) private {
        uint256 last = _lastInSeries;
        if (firstId <= last) revert NotInSequence(firstId, last);
        if (firstId - last - 1 > MAX_SKIPPED) revert TooManySkipped(firstId, last);
        _lastInSeries = SafeCast.toUint48(firstId + count - 1);
        if (firstId != last + 1) _skipped.push(uint48(firstId), uint208(firstId - 1 - minted));
    }

    /// @dev The only function that marks an id as used; a mint passes its digest, a revocation `REVOKED`.
    function _use(uint256 tokenId, bytes32 digest) internal {
        Token storage token = _tokens[tokenId];
        bytes32 known = token.digest;
        if (known != 0) {
            if (known == REVOKED) revert TokenIdRevoked(tokenId);
            revert TokenIdUsed(tokenId);
        }
        token.digest = digest;
    }

    function _tokenURI(uint256 tokenId) internal view returns (string memory) {
        return ContentURI.uri(CollectionArgs.baseURI(), tokenDigest(tokenId));
    }

    function _metadataUpdated(uint256 tokenId) internal virtual {
        emit MetadataUpdate(tokenId);
    }

    /// @dev Reverts unless the id was minted; for a standard with a known holder, unless it still exists.
    function _requireMinted(uint256 tokenId) internal view virtual {
        tokenDigest(tokenId);
    }

    function _supportsExtension(bytes4 interfaceId) internal view returns (bool) {
        return interfaceId == type(IERC2981).interfaceId || interfaceId == ERC4906_ID
            || (interfaceId == type(IERC5192).interfaceId && !CollectionArgs.traits().transferable());
    }

    function _requireChangeable(uint256 tokenId) private view {
        if (CollectionArgs.traits().kind() != CollectionKind.DYNAMIC) revert NotDynamic();
        _requireMinted(tokenId);
        if (_tokens[tokenId].frozen) revert TokenFrozen(tokenId);
    }

    function _requireDigest(bytes32 digest) internal pure {
        if (uint256(digest) <= uint256(REVOKED)) revert InvalidDigest(digest);
    }
}
