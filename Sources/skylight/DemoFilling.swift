import Accounts
import DataTransfer
import JSON
import Records
import RecordStore
// Without it, `containers()` would be the one of engines that have no list.
import SQLRecordStore

/// Fills the containers of the demo data, for `--demo` and for the button on the start page.
actor DemoFilling {
    private let store: DataFolder.Store
    private var running: Task<Void, any Error>?

    init(_ store: DataFolder.Store) {
        self.store = store
    }

    /// Fills the containers that do not exist. The rest of the data stays unchanged.
    func fill() async throws {
        func name(_ handle: String) throws -> Name { try store.accounts.caller(named: handle, deviceID: nil).userRecordName }
        let people = DemoData.People(developer: try name(User.developerHandle), ada: try name("ada"), grace: try name("grace"))
        _ = try await DemoData(engine: store.engine, assets: store.assets, clock: store.clock, people: people).fill()
        // Another process with the same data has links to their databases at once.
        try await store.accounts.writeUses()
    }

    /// The same on a server that runs. A second call waits for the first.
    /// - Throws: `RecordError` BAD_REQUEST if there are containers: the clock is in the past meanwhile, for their records too.
    func fillEmpty() async throws {
        if let running { return try await running.value }
        // Goes on when the browser leaves the page.
        let task = Task {
            guard try await store.local.containers().isEmpty else {
                throw RecordError(.badRequest, "Demo data is loaded only into a server without containers; 'skylight serve --demo' adds it to others")
            }
            try await fill()
        }
        running = task
        defer { running = nil }
        try await task.value
    }
}
