/** Gas of collections and their tokens under each set of rules; docs/records/nft-gas.md has the costs before Amsterdam. */
import {
  type ByteCurve,
  type GasCurve,
  NEW_ACCOUNT,
  type RuleSet,
  SLOT_CHANGE,
  STATE_BYTE,
  WRITE_CHANGE,
} from '../../chain/forks.ts'

type NftGas = {
  /** Before its tokens a mint has the transaction, the proxy call, and the slot with owner and count. */
  readonly mint: Readonly<Record<'ERC721' | 'ERC1155', GasCurve>>
  /** A SERIES records gaps in its ids, in two new storage slots. */
  readonly sequenceGap: bigint
  readonly transfer: Readonly<Record<'ERC721' | 'ERC1155', GasCurve>>
  readonly deploy: ByteCurve
  /** The factory that creates its implementations in its own transaction. */
  readonly wholeFactory: bigint
  readonly revoke: bigint
  readonly tokenUpdate: bigint
  readonly freeze: bigint
  /** Builds a token's URI and logs it. */
  readonly uri: ByteCurve
  /** Most of one transaction with mints: a third of the smallest block, and a hundred ERC-721 tokens before Amsterdam. */
  readonly mints: bigint
}

export const NFT_GAS: Readonly<Record<RuleSet, NftGas>> = {
  up_to_osaka: {
    mint: { ERC721: { base: 45_000n, perToken: 75_000n }, ERC1155: { base: 45_000n, perToken: 54_000n } },
    sequenceGap: 55_000n,
    transfer: { ERC721: { base: 75_000n, perToken: 0n }, ERC1155: { base: 35_000n, perToken: 32_000n } },
    deploy: { base: 130_000n, perByte: 250n },
    wholeFactory: 8_000_000n,
    revoke: 65_000n,
    tokenUpdate: 45_000n,
    freeze: 70_000n,
    uri: { base: 32_000n, perByte: 15n },
    mints: 10_000_000n,
  },
  amsterdam: {
    // Three new slots a token of ERC-721, two of ERC-1155, and a fifth of them so that a lane needs no estimate.
    mint: {
      ERC721: { base: 75_000n, perToken: 75_000n + (18n * SLOT_CHANGE) / 5n },
      ERC1155: { base: 75_000n, perToken: 54_000n + (12n * SLOT_CHANGE) / 5n },
    },
    sequenceGap: 55_000n + 2n * SLOT_CHANGE,
    transfer: {
      ERC721: { base: 75_000n + SLOT_CHANGE + 4n * WRITE_CHANGE, perToken: 0n },
      ERC1155: { base: 42_000n, perToken: 32_000n + SLOT_CHANGE + WRITE_CHANGE },
    },
    deploy: { base: 130_000n + NEW_ACCOUNT + SLOT_CHANGE + 130n * STATE_BYTE, perByte: 250n + STATE_BYTE },
    wholeFactory: 50_000_000n,
    revoke: 65_000n + SLOT_CHANGE,
    tokenUpdate: 45_000n + 2n * WRITE_CHANGE,
    freeze: 70_000n + SLOT_CHANGE + WRITE_CHANGE,
    uri: { base: 32_000n, perByte: 15n },
    mints: 20_000_000n,
  },
}

/** What no fork changes. */
export const RECEIVER_GAS = {
  /** Added for the code of a receiver of an NFT; the lane's estimate is used if it is higher. */
  added: 100_000n,
  /** A receiver of NFTs is asked with as much. A transfer would not pay for more. */
  asked: 500_000n,
} as const
