import Synchronization

@testable import RemoteRecords

/// An app that may be killed in the middle of a sync. From then on it takes no event, so that nothing more is stored,
/// and the task of the sync is cancelled, so that nothing more is sent.
final class MortalApp: SyncEngineDelegate {
    private struct End {
        /// The number of events that it still takes.
        var events: Int
        /// True if it sends what comes before the next event, and is killed while it waits for the answer. The answer
        /// is not stored.
        var sendsMore: Bool
    }

    private let app: any SyncEngineDelegate
    /// `nil` for an app that lives.
    private let end = Mutex<End?>(nil)

    init(_ app: any SyncEngineDelegate) {
        self.app = app
    }

    /// Kills the app once it has taken so many events.
    func kill(afterEvents events: Int, sendsMore: Bool) {
        end.withLock { $0 = End(events: events, sendsMore: sendsMore) }
    }

    func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
        -> RecordZoneChangeBatch?
    {
        await app.nextRecordZoneChangeBatch(context, syncEngine: syncEngine)
    }

    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
        let (isAlive, isLast) = end.withLock { end -> (Bool, Bool) in
            guard var known = end else { return (true, false) }
            known.events -= 1
            end = known
            return (known.events >= 0, known.events < (known.sendsMore ? 0 : 1))
        }
        if isAlive { await app.handleEvent(event, syncEngine: syncEngine) }
        if isLast { withUnsafeCurrentTask { $0?.cancel() } }
    }
}
