/** What a mint may be. Pure: token ids, transactions and the time come in with the command. */
import { Conflict } from '../../core/errors.ts'
import type { Decider } from '../../core/messages.ts'
import type { Mint, MintEvent } from './events.ts'
import { evolve, type MintState, UNKNOWN_MINT } from './state.ts'

export type MintCommand = { readonly type: 'RecordMint'; readonly mint: Mint }

export const mintDecider: Decider<MintState, MintCommand, MintEvent> = {
  initialState: UNKNOWN_MINT,
  evolve,
  decide({ mint }, state) {
    if (state.state !== 'unknown') throw new Conflict('mint_exists', 'A mint with this id exists.')
    return [{ type: 'MintRecorded', data: mint }]
  },
}
