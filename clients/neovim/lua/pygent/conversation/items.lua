---@meta
--- What a conversation is made of.

---A session as a view shows it, made from the session's events alone.
---@class pygent.Conversation
---@field session_id string
---Number of the last event that was applied; an event with this number or a lower one is ignored.
---@field last_seq integer
---Items in the order in which they began. Items of a subagent are below the call that started it.
---@field items pygent.Item[]
---@field turns table<string, pygent.Turn> by their ids
---@field running_turn_id? string
---RFC 3339: when the last event happened.
---@field last_at? string
---Said to the turn that runs, and not read by the model yet, the oldest first.
---@field steering string[]
---Turns that wait, the next one first.
---@field queue pygent.WaitingTurn[]
---The complete current plan; empty without a plan.
---@field plan pygent.PlanEntry[]
---Totals of the last turn that asked a model, as far as known.
---@field usage? pygent.Usage
---@field has_earlier? boolean what was said before the first event is among the items
---@field package _scopes table<string, pygent.conversation.Scope> by the turn's id

---A turn that waits for the one that runs.
---@class pygent.WaitingTurn
---@field turn_id string
---@field prompt string
---@field attachments pygent.PromptAttachment[]
---@field held boolean it waits for the user: the daemon ended before the turn began

---@class pygent.Turn
---@field turn_id string
---@field seq integer of the event that it began with
---@field state "queued"|"running"|"finished"
---@field model string
---@field mode string
---@field agent string
---@field started_at string RFC 3339
---@field finished_at? string
---@field stop_reason? pygent.StopReason
---@field usage? pygent.Usage
---@field files_changed pygent.FileChanged[]
---@field is_taken_back? boolean the user went back to before it: the model knows nothing of it

---What stands in a conversation, from top to bottom; `type` tells them apart. An item stays the same table while it
---changes.
---@alias pygent.Item
---| pygent.PromptItem
---| pygent.ReviewItem
---| pygent.TextItem
---| pygent.ThinkingItem
---| pygent.ToolItem
---| pygent.FailureItem
---| pygent.LimitItem
---| pygent.CompactedItem
---| pygent.HookItem
---| pygent.NoticeItem
---| pygent.EndItem

---What every item has.
---@class pygent.ItemParts
---@field key string its own in the session
---@field turn_id string
---@field at string RFC 3339: when it began
---The call whose subagent it belongs to.
---@field parent? pygent.ToolItem

---Words of the user: what began the turn, or was said while it ran (`steered`).
---@class pygent.PromptItem: pygent.ItemParts
---@field type "prompt"
---@field text string
---@field steered boolean
---@field attachments pygent.PromptAttachment[]

---An attachment of a prompt: its location, without its content.
---@alias pygent.PromptAttachment
---| pygent.FileAttachment
---| pygent.DiagnosticsAttachment
---| pygent.ImageAttachment
---| pygent.TerminalAttachment

---What the user rejected of the agent's edits, as the model was told of it.
---@class pygent.ReviewItem: pygent.ItemParts
---@field type "review"
---@field text string
---@field files pygent.RejectedFile[]

---Words of the model, markdown; `require("pygent.conversation").text(item)` is the whole of them.
---@class pygent.TextItem: pygent.ItemParts
---@field type "text"
---@field item_id string
---The pieces as they came. They only become more; what replaces them is another table.
---@field parts string[]
---@field streaming boolean more is coming
---@field withdrawn boolean it belongs to an attempt that failed, and no longer counts

---What the model thought.
---@class pygent.ThinkingItem: pygent.ItemParts
---@field type "thinking"
---@field item_id string
---@field parts string[] as those of a text
---@field streaming boolean
---@field withdrawn boolean
---@field ended_at? string RFC 3339; nil while it streams

---A call that waits for permission, runs, or is over.
---@alias pygent.ToolStatus "asked"|"running"|"done"|"failed"|"denied"|"cancelled"

---@class pygent.ToolItem: pygent.ItemParts
---@field type "tool"
---@field tool_id string
---@field tool_name string
---@field title string
---@field kind pygent.ToolKind
---@field risk pygent.Risk
---@field read_only boolean
---@field input table<string, any>
---@field locations pygent.Location[]
---@field status pygent.ToolStatus
---Live output: the last pieces, which `require("pygent.conversation").output(item)` joins; none once the call is done.
---@field output_parts string[]
---@field output_bytes integer of all pieces that are kept
---What the model read; nil while it runs.
---@field result? pygent.ToolOutcome
---@field changes pygent.FileChange[]
---How the question whether it may run was answered.
---@field decision? {outcome: pygent.PermissionAnswer, by: "user"|"rule"|"mode"|"hook"}
---@field denied_reason? string
---@field children pygent.Item[] what a subagent did

---@class pygent.ToolOutcome
---@field content string
---@field is_error boolean
---@field cached boolean
---@field truncated boolean
---@field duration_ms integer
---@field exit_code? integer of the command that it ran, negative for a signal

---A model call failed. It waits to try again; it has tried again, or asked the fallback; or it has given up. An attempt
---that fails behind it is told here, too.
---@class pygent.FailureItem: pygent.ItemParts
---@field type "failure"
---@field error_type pygent.ErrorType
---@field message string
---@field attempt integer
---@field state "waiting"|"retried"|"final"
---@field retry_at? number seconds since 1970, while it waits
---@field fallback_model? string

---A limit of the turn was reached.
---@class pygent.LimitItem: pygent.ItemParts
---@field type "limit"
---@field limit_type string the type of its event
---@field limit number
---@field value number

---The conversation was shortened for the model.
---@class pygent.CompactedItem: pygent.ItemParts
---@field type "compacted"
---@field tokens_before integer
---@field tokens_after integer
---@field messages_summarised integer

---A command of the user's was run.
---@class pygent.HookItem: pygent.ItemParts
---@field type "hook"
---@field hook_event string
---@field command string
---@field decision string
---@field duration_ms integer

---Something to know.
---@class pygent.NoticeItem: pygent.ItemParts
---@field type "notice"
---@field level "info"|"warning"|"error"
---@field text string

---The turn is over.
---@class pygent.EndItem: pygent.ItemParts
---@field type "end"
---@field stop_reason pygent.StopReason
---@field usage pygent.Usage
---@field files_changed pygent.FileChanged[]
---How many changes in each of these files were rejected since, and of how many more the model is not told yet.
---@field rejected integer[]
---@field untold integer[]
---@field duration_ms number

---@alias pygent.conversation.Effect
---| fun(conversation: pygent.Conversation, event: any, touched: pygent.conversation.Touched)

---Those that one batch of events made or changed, each once.
---@class pygent.conversation.Touched
---@field list pygent.Item[]
---@field known table<pygent.Item, true>

---What is looked up in a turn, so that an event costs the same however long the conversation is.
---@class pygent.conversation.Scope
---Items by the id of the call that started their subagent; the turn's own have the key "".
---@field levels table<string, pygent.conversation.Level>
---@field calls table<string, pygent.ToolItem> of all levels, the outermost of each id

---The items of one agent in one turn.
---@class pygent.conversation.Level
---@field items pygent.Item[] for the turn's own those of the conversation, and so of other turns, too
---@field parent? pygent.ToolItem
---@field words table<string, pygent.TextItem|pygent.ThinkingItem> by the daemon's names for them
---@field calls table<string, pygent.ToolItem> the last of each id
