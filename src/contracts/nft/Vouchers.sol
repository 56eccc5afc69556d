// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {Collection} from "./Collection.sol";
import {CollectionArgs, Traits} from "./CollectionConfig.sol";

/// @notice The owner's word that one token may be minted.
struct Voucher {
    uint256 tokenId;
    /// Who gets the token; zero for whoever redeems.
    address recipient;
    /// Units of the token; 1 for ERC-721.
    uint256 amount;
    bytes32 digest;
    /// The last second at which it can be redeemed; 0 for no end.
    uint256 validUntil;
}

/// @title Lazy minting: the owner signs (EIP-712), somebody else pays for the mint.
/// @notice A voucher holds for one collection on one chain, since both are in the signed domain, and only as long as its
/// signer is the owner. It redeems once, since its token id is used by it.
abstract contract Vouchers is EIP712, Collection {
    bytes32 private constant VOUCHER_TYPEHASH =
        keccak256("Voucher(uint256 tokenId,address recipient,uint256 amount,bytes32 digest,uint256 validUntil)");

    error InvalidRedeemer(address caller, address to);
    error VoucherExpired(uint256 validUntil);
    error InvalidVoucherSignature();

    event VoucherRevoked(uint256 indexed tokenId);

    constructor() EIP712("Bursar", "1") {}

    /// @notice Mints what the voucher says. A voucher that names its recipient may be brought by anyone, who pays the gas;
    /// the token goes to that recipient. Any other mints to its caller, or to where the owner says.
    /// @param signature of an account that owns the collection, or what its ERC-1271 contract accepts
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

    /// @notice Ends every voucher of this token id: it can never be minted.
    function revoke(uint256 tokenId) external onlyOwner {
        _use(tokenId, REVOKED);
        emit VoucherRevoked(tokenId);
    }

    /// @notice What the owner signs.
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

    /// @dev Uses the id and mints without asking the receiver.
    function _mintToken(Traits traits, address to, uint256 tokenId, uint256 amount, bytes32 digest) internal virtual;
}
