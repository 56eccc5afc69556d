/** What an anchor may be: a transfer of 0 from the wallet to itself, whose call data is the note of its checkpoint. Pure. */

import type { KindsOf } from '../../transactions/kind-rules.ts'
import { foreignParts, sendsNothingToItself } from '../../transactions/opening-rules.ts'
import type { audit } from '../declaration.ts'
import { isNoteOfSize } from '../note/checkpoint.ts'

export const anchorKinds: KindsOf<typeof audit> = {
  CheckpointAnchorRequested: {
    rule(intent) {
      const { data, subject, dependsOn } = intent
      if (!sendsNothingToItself(intent)) return 'an anchor must be a transfer of 0 to the wallet itself'
      if (subject?.type !== 'checkpoint' || dependsOn !== null) return 'an anchor must belong to a checkpoint'
      const note = Buffer.from((data ?? '').slice(2), 'hex')
      const text = note.toString('utf8')
      if (data !== `0x${note.toString('hex')}` || !Buffer.from(text, 'utf8').equals(note))
        return 'the call data of an anchor must be the text of its checkpoint'
      return (
        foreignParts(intent, []) ??
        (isNoteOfSize(text, subject.id) ? null : 'the call data of an anchor must be the note of its checkpoint')
      )
    },
  },
}
