public import AssetStore
public import JSON
public import Records
public import RecordStore

/// Three small containers to try things on: a chat app, shopping lists shared between users, and a journal as Core Data's mirroring
/// stores it. The data is the same at every filling, up to the record names, times and devices, and so are the
/// files that are attached to records: the demo makes them itself.
public struct DemoData: Sendable {
    /// The user record names of those who appear in the data.
    public struct People: Sendable {
        public var developer: Name
        public var ada: Name
        public var grace: Name

        public init(developer: Name, ada: Name, grace: Name) {
            self.developer = developer
            self.ada = ada
            self.grace = grace
        }
    }

    private let engine: any RecordEngine
    private let assets: AssetStores
    private let clock: SettableClock
    private let people: People

    /// - Parameters:
    ///   - assets: where the files go.
    ///   - clock: the one that engine and assets were made with.
    public init(engine: any RecordEngine, assets: AssetStores, clock: SettableClock, people: People) {
        self.engine = engine
        self.assets = assets
        self.clock = clock
        self.people = people
    }

    /// Fills the containers that are not there or have no record type yet; what is there stays as it is.
    /// - Returns: the containers that were filled.
    /// - Throws: `RecordError` when the engine refuses something.
    public func fill() async throws -> [ContainerID] {
        defer { clock.set(nil) }
        var filled: [ContainerID] = []
        let stories = [ChatDemo(people: people).story, ShoppingDemo(people: people).story, JournalDemo(people: people).story]
        for story in stories {
            guard let container = ContainerID(story.container) else { continue }
            let stage = DemoStage(engine: engine, assets: assets, clock: clock, container: container, developer: people.developer)
            if try await stage.isUsed() { continue }
            try await stage.play(story)
            filled.append(container)
        }
        return filled
    }
}
