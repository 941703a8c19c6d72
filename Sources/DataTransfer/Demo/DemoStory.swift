internal import Records

/// The schema and the events of a demo container. The events are in no particular order.
struct DemoStory: Sendable {
    let container: String
    /// Empty if saves create the schema.
    let types: [RecordType]
    let events: [DemoEvent]
}
