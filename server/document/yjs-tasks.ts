// The thread of an application's documents, which may contain anything.

import { anySchema } from './update-reader.ts'
import { answerOrders, updateTasks } from './update-tasks.ts'

answerOrders(updateTasks(anySchema))
