// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title URIs of content with a known hash: the CID of one raw block, as computed by `ipfs add --cid-version=1`.
library ContentURI {
    /// CID version 1, codec raw, hash function SHA-256, 32 bytes of hash: https://github.com/multiformats/cid
    uint256 private constant PREFIX = 0x01551220;
    /// RFC 4648 in lower case without padding, indicated by the leading `b`.
    bytes32 private constant ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
    /// `b` and 58 digits of 5 bits for 36 bytes.
    uint256 private constant CID_LENGTH = 59;

    /// @param base prefix of the CID; `ipfs://` when empty
    function uri(string memory base, bytes32 digest) internal pure returns (string memory) {
        return string.concat(bytes(base).length == 0 ? "ipfs://" : base, cid(digest));
    }

    function cid(bytes32 digest) internal pure returns (string memory) {
        bytes memory text = new bytes(CID_LENGTH);
        uint256 low = uint256(digest);
        text[0] = "b";
        // The first digit is the top 5 of 288 bits, the last one the lowest 3 bits and two zeros.
        for (uint256 i = 1; i < CID_LENGTH - 1; i++) {
            uint256 shift = 288 - 5 * i;
            uint256 bits = shift < 256 ? (PREFIX << (256 - shift)) | (low >> shift) : PREFIX >> (shift - 256);
            text[i] = ALPHABET[bits & 31];
        }
        text[CID_LENGTH - 1] = ALPHABET[(low & 7) << 2];
        return string(text);
    }
}
