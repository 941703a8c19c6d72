import Foundation
import Logging
import Records
import Synchronization

@testable import SQLRecordStore

/// A folder of files that fails like a database on a server that is away.
final class LosableHome: StoreLocation {
    private struct State {
        var failure: SQLError?
        var isOfMaking = false
    }

    private let base: SQLiteFolder
    private let state = Mutex(State())

    init(_ folder: URL) throws {
        base = try SQLiteFolder(folder, WriteAheadLogLimits(), Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Lets all calls fail, or works again.
    /// - Parameter isOfMaking: true to let only calls that make a store fail, after its rows are written.
    func fail(_ failure: SQLError?, isOfMaking: Bool = false) {
        state.withLock { $0 = State(failure: failure, isOfMaking: isOfMaking) }
    }

    fileprivate func check(isMade: Bool = false) throws {
        try state.withLock { state in
            if let failure = state.failure, state.isOfMaking == isMade { throw failure }
        }
    }

    func containers() throws -> [ContainerID] {
        try check()
        return try base.containers()
    }
    func rename(_ container: ContainerID, to name: ContainerID) throws {
        try check()
        try base.rename(container, to: name)
    }
    func delete(_ container: ContainerID) throws {
        try check()
        try base.delete(container)
    }
    func holds(_ key: StoreKey) throws -> Bool {
        try check()
        return try base.holds(key)
    }
    func extent(of key: StoreKey) -> (bytes: Int64, lastSave: Timestamp)? { base.extent(of: key) }
    func make(_ key: StoreKey, _ fill: (SQLConnection) throws -> Void) throws -> Bool {
        try check()
        return try base.make(key) { db in
            try fill(db)
            try check(isMade: true)
        }
    }
    func open(_ key: StoreKey) throws -> any WritableConnections {
        try check()
        return LosableConnections(base: try base.open(key), home: self)
    }
    func openForReading(_ key: StoreKey) throws -> any StoreConnections {
        try check()
        return try base.openForReading(key)
    }
    func looksWritable(_ key: StoreKey) -> Bool { base.looksWritable(key) }
    var handlesPerStore: Int { base.handlesPerStore }
    func close() { base.close() }
}

private final class LosableConnections: WritableConnections {
    private let base: any WritableConnections
    private let home: LosableHome

    init(base: any WritableConnections, home: LosableHome) {
        self.base = base
        self.home = home
    }

    var isSingle: Bool { base.isSingle }
    func read<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try home.check()
        return try base.read(body)
    }
    func readElsewhere<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws
        -> Value
    {
        try home.check()
        return try await base.readElsewhere(body)
    }
    func write<Value>(_ body: (SQLConnection) throws -> Value) throws -> Value {
        try home.check()
        return try base.write(body)
    }
    func tidy() throws { try base.tidy() }
    func closeInOrder() throws { try base.closeInOrder() }
    func close() throws { try base.close() }
}
