public import AssetStore
public import JSON
public import Records
public import RecordStore

/// Three small demo containers: a chat app, shopping lists shared between users, and a journal in the format of Core
/// Data's mirroring. The data is deterministic, including record names, times, devices and the generated files.
public struct DemoData: Sendable {
    /// The user record names of the people in the data.
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
    ///   - assets: the stores for the files.
    ///   - clock: the clock of the engine and the asset stores.
    public init(engine: any RecordEngine, assets: AssetStores, clock: SettableClock, people: People) {
        self.engine = engine
        self.assets = assets
        self.clock = clock
        self.people = people
    }

    /// Fills the demo containers that do not exist or have no record types. Existing data stays unchanged.
    /// - Returns: the filled containers.
    /// - Throws: `RecordError` if the engine refuses an operation.
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
