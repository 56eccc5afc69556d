/**
 * What a call of a token moves, by its call data: transfers of ERC-20 (with ERC-677, ERC-777 and ERC-1363), ERC-721 and ERC-1155.
 * Reads as leniently as contracts do.
 */
import { FunctionFragment } from 'ethers/abi'
import { addressAt, countAt, placeAt, WORD, wordAt } from './lenient-words.ts'

export type TokenMove = {
  /** `any`: ERC-20 and ERC-721 have one selector for it, so the amount may be the id of a token. */
  readonly standard: 'erc20' | 'erc721' | 'erc1155' | 'any'
  /** In lower case. */
  readonly to: string
  /** Base units, or the number of tokens; `null` if the data does not say it. */
  readonly amount: bigint | null
}

type Reader = (args: Buffer) => TokenMove

/** More in one batch than a block has room for. */
const MAX_TOKENS = 1_024

const READERS: ReadonlyMap<string, Reader> = new Map([
  ...['transfer(address,uint256)', 'transferAndCall(address,uint256)', 'transferAndCall(address,uint256,bytes)'].map(
    (one) => entry(one, (args) => move('erc20', addressAt(args, 0), wordAt(args, WORD))),
  ),
  entry('send(address,uint256,bytes)', (args) => move('erc20', addressAt(args, 0), wordAt(args, WORD))),
  entry('transferFrom(address,address,uint256)', (args) => move('any', addressAt(args, 1), wordAt(args, 2 * WORD))),
  ...['transferFromAndCall(address,address,uint256)', 'transferFromAndCall(address,address,uint256,bytes)'].map((one) =>
    entry(one, (args) => move('erc20', addressAt(args, 1), wordAt(args, 2 * WORD))),
  ),
  ...['safeTransferFrom(address,address,uint256)', 'safeTransferFrom(address,address,uint256,bytes)'].map((one) =>
    entry(one, (args) => move('erc721', addressAt(args, 1), 1n)),
  ),
  entry('safeTransferFrom(address,address,uint256,uint256,bytes)', (args) =>
    move('erc1155', addressAt(args, 1), wordAt(args, 3 * WORD)),
  ),
  entry('safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)', (args) =>
    move('erc1155', addressAt(args, 1), sumAt(args, 3 * WORD)),
  ),
])

/** @param call its selector in hex without `0x`, and the data after it @returns `null` for a call of another function */
export function moveOf({ selector, args }: { readonly selector: string; readonly args: Buffer }): TokenMove | null {
  return READERS.get(selector)?.(args) ?? null
}

function entry(signature: string, reader: Reader): readonly [string, Reader] {
  return [FunctionFragment.from(signature).selector.slice(2), reader]
}

function move(standard: TokenMove['standard'], to: string, amount: bigint | null): TokenMove {
  return { standard, to, amount }
}

/** The sum of the list whose offset is at `head`; `null` if it is not valid. */
function sumAt(args: Buffer, head: number): bigint | null {
  const list = placeAt(args, 0, head)
  const count = list === null ? null : countAt(args, list, MAX_TOKENS)
  if (list === null || count === null) return null
  return Array.from({ length: count }, (_, n) => wordAt(args, list + (n + 1) * WORD)).reduce(
    (all, one) => all + one,
    0n,
  )
}
