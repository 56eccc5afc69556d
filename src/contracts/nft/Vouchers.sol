// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Collection} from "./Collection.sol";
import {CollectionArgs, Traits} from "./CollectionConfig.sol";

/// @notice The owner's signed permission to mint one token.
struct Voucher {
    uint256 tokenId;
    /// The recipient of the token; zero for whoever redeems.
    address recipient;
    /// Units of the token; 1 for ERC-721.
    uint256 amount;
    bytes32 digest;
    /// The last second at which it can be redeemed; 0 if it never expires.
    uint256 validUntil;
}

/// @title Lazy minting: the owner signs (EIP-712), another account pays for the mint.
/// @notice A voucher is valid for one collection on one chain, since both are in the signed domain, and only while its
/// signer is the owner. It can be redeemed once, since redeeming uses its token id.
abstract contract Vouchers is EIP712, Collection {
    bytes32 private constant VOUCHER_TYPEHASH =
        keccak256("Voucher(uint256 tokenId,address recipient,uint256 amount,bytes32 digest,uint256 validUntil)");

    error InvalidRedeemer(address caller, address to);
    error VoucherExpired(uint256 validUntil);
    error InvalidVoucherSignature();

    event VoucherRevoked(uint256 indexed tokenId);

    constructor() EIP712("Bursar", "1") {}

    /// @notice Mints the voucher's token. A voucher with a recipient may be redeemed by anyone, who pays the gas; the
    /// token goes to that recipient. Any other mints to its caller, or to an address that the owner chooses.
    /// @param signature of an account that owns the collection, or one that its ERC-1271 contract accepts
    function redeem(Voucher calldata voucher, bytes calldata signature, address to) external {
        address issuer = owner();
        bool allowed = voucher.recipient == address(0)
            ? msg.sender == to || msg.sender == issuer
            : voucher.recipient == to;
        if (!allowed) revert InvalidRedeemer(msg.sender, to);
        if (voucher.validUntil != 0 && block.timestamp > voucher.validUntil) revert VoucherExpired(voucher.validUntil);
        if (!SignatureChecker.isValidSignatureNowCalldata(issuer, voucherHash(voucher), signature)) {
            revert InvalidVoucherSignature();
        }
        Traits traits = CollectionArgs.traits();
        _release(traits, voucher.tokenId, 1);
        _mintToken(traits, to, voucher.tokenId, voucher.amount, voucher.digest);
    }

    /// @notice Revokes every voucher of this token id: it can never be minted.
    function revoke(uint256 tokenId) external onlyOwner {
        _use(tokenId, REVOKED);
        emit VoucherRevoked(tokenId);
    }

    /// @notice The digest that the owner signs.
    function voucherHash(Voucher calldata voucher) public view returns (bytes32) {
        return _hashTypedDataV4(
            keccak256(
                abi.encode(
                    VOUCHER_TYPEHASH,
                    voucher.tokenId,
                    voucher.recipient,
                    voucher.amount,
                    voucher.digest,
                    voucher.validUntil
                )
            )
        );
    }

    /// @dev Uses the id and mints without calling the receiver.
    function _mintToken(Traits traits, address to, uint256 tokenId, uint256 amount, bytes32 digest) internal virtual;
}
