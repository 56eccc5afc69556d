/** The commands of a token after its mint. Pure: the outcome of an earlier freeze comes with the command. */
import { Conflict } from '../../core/errors.ts'
import type { Decider } from '../../core/messages.ts'
import type { PublishedMetadata, TokenEvent, TokenUpdate } from './token-events.ts'
import { evolve, type TokenState, UNTOUCHED } from './token-state.ts'

/** `null` when no freeze was requested. */
export type FreezeFate = 'pending' | 'done' | 'failed' | null

export type TokenCommand =
  | {
      readonly type: 'ChangeMetadata'
      readonly update: TokenUpdate
      readonly metadata: PublishedMetadata
      readonly cid: string
      readonly freeze: FreezeFate
    }
  | { readonly type: 'Freeze'; readonly update: TokenUpdate; readonly freeze: FreezeFate }

export const tokenDecider: Decider<TokenState, TokenCommand, TokenEvent> = {
  initialState: UNTOUCHED,
  evolve,
  decide(command) {
    requireThawed(command.freeze)
    if (command.type === 'Freeze') return [{ type: 'TokenFrozen', data: command.update }]
    const { update, metadata, cid } = command
    return [{ type: 'TokenMetadataChanged', data: { ...update, metadata, cid } }]
  },
}

/** @throws Conflict `metadata_frozen`, from the moment a freeze was accepted: it is signed before later requests */
export function requireThawed(freeze: FreezeFate): void {
  if (freeze === 'done') throw new Conflict('metadata_frozen', 'The metadata of the token is permanently frozen.')
  if (freeze === 'pending')
    throw new Conflict('metadata_frozen', 'The metadata of the token cannot be updated, because a freeze is pending.')
}
