package import Console
package import HTTPServing
internal import RecordStore
package import Records

extension Console {
    /// Adds the pages that read and write records.
    /// - Parameter deliveries: finds the clients that received a record, for the record's page.
    package func addRecordPages(
        to router: Routes.Group, deliveries: @escaping @Sendable (RecordID, StoredRecord?, Visit) async throws -> (any ViewModel)?
    ) {
        show("query", on: router, readsZones: true) { try await QueryView.answer($0) }
        show("fetch", on: router, readsZones: true) { .page(try await FetchView.load($0)) }
        show("explain", on: router, readsZones: true) { try await ExplainView.answer($0) }
        show("advice", on: router) { .page(try await AdviceView.load($0)) }
        show("record", on: router) { .page(try await RecordView.load($0, deliveries: deliveries)) }
        show("objects", on: router, readsZones: true) { .page(try await ObjectsView.load($0)) }
        show("objects/entity", on: router, readsZones: true) { .page(try await EntityView.load($0)) }
        show("object", on: router) { try await ObjectView.answer($0) }
        show("record/delete", on: router) { .page(try await RecordActions.confirmDeletion($0)) }
        act("record/delete", on: router) { try await RecordActions.delete($0) }
        addResultPages(to: router)
        addHistoryPages(to: router)
        addEditPages(to: router)
        addMirrorPages(to: router)
        addSharePages(to: router)
        addSubscriptionPages(to: router)
        addKeyValuePages(to: router)
    }
}
