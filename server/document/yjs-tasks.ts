// The thread of an application's documents, which may contain anything.

import { anySchema, performTasks } from '../documents.ts'

performTasks(anySchema)
