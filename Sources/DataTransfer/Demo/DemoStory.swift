internal import Records

/// What happened in one demo container: its schema and its events, in no particular order.
struct DemoStory: Sendable {
    let container: String
    /// Empty where saving made the schema.
    let types: [RecordType]
    let events: [DemoEvent]
}
