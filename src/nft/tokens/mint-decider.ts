/** The commands of a mint. Pure: token ids, transactions and the time come with the command. */
import { Conflict } from '../../core/errors.ts'
import type { Decider } from '../../core/messages.ts'
import type { Mint, MintEvent, VoucherTerms } from './mint-events.ts'
import { evolve, type MintState, UNKNOWN_MINT } from './mint-state.ts'
import { decideVoucher, type VoucherCommand } from './voucher-decider.ts'

export type MintCommand =
  | { readonly type: 'RecordMint'; readonly mint: Mint /** Of a LAZY mint. */; readonly voucher?: VoucherTerms }
  | VoucherCommand

export const mintDecider: Decider<MintState, MintCommand, MintEvent> = {
  initialState: UNKNOWN_MINT,
  evolve,
  decide(command, state) {
    if (command.type !== 'RecordMint') return decideVoucher(command, state)
    if (state.state !== 'unknown') throw new Conflict('mint_exists', 'A mint with this id already exists.')
    const { mint, voucher } = command
    const recorded = { type: 'MintRecorded', data: mint } as const
    return voucher === undefined ? [recorded] : [recorded, { type: 'VoucherRequested', data: voucher }]
  },
}
