internal import AssetStore
internal import Console
internal import DataTransfer
internal import JSON
internal import RecordStore
internal import Records
internal import Text
internal import Traffic

/// The page Snapshots: the saved states of the environment, and the forms that save one or open a shared one.
struct SnapshotsView: Page {
    static let template = "snapshots"
    static let tab = Tab.snapshots

    struct Row: ViewModel {
        let name: String
        let compare: String
        let saved: ValueView
        let records: String
        let users: String
        /// `12, 4.1 MB`; `nil` without any.
        let assets: String?
        /// The number of its requests, with their page; `nil` without any.
        let requests: Frame.Link?
        let file: String
        let restore: String
        let delete: String
    }

    let title = Self.tab.title
    let container: String
    let environment: String
    let notice: String?
    let complaint: Complaint?
    /// The name in the form.
    let name: String
    let nameLimit: String
    /// The number of requests of the log that a snapshot may take along; `nil` if there are none.
    let requests: String?
    let rows: [Row]
    let action: String
    let bring: String
    /// The size limit of a file.
    let limit: String
    let command: String
    let milliseconds: String
}

extension SnapshotsView {
    static func load(_ visit: Visit, complaint: RecordError? = nil) async throws -> SnapshotsView {
        let place = visit.place
        guard visit.assets.keepsFiles(of: place.address.container) else { throw SnapshotShelf.isElsewhere(place.address.container) }
        let snapshots = try await RecordError.ofSnapshots { try visit.shelf.folder.all() }
        let logged = visit.log.latest(SnapshotActions.requestLimit) { SnapshotActions.belongs($0, to: place.address) }.count
        let environment = place.address.environment
        return SnapshotsView(
            container: place.address.container.description, environment: environment.rawValue, notice: Notice.text(visit.fields["notice"]),
            complaint: complaint.map { Complaint($0) }, name: complaint == nil ? "" : visit.fields["name"] ?? "", nameLimit: String(Snapshot.nameLimit),
            requests: logged == 0 ? nil : Digits.count(logged, "request"), rows: snapshots.map { Row($0, place) }, action: place.link("snapshots/save"),
            bring: place.link("snapshots/import"), limit: Digits.bytes(Int64(Console.largestFile)),
            command: "skylight snapshot save NAME --container \(place.address.container)" + (environment == .development ? "" : " --environment \(environment.rawValue)"),
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension SnapshotsView.Row {
    fileprivate init(_ snapshot: Snapshot, _ place: Place) {
        let parameters = [(name: "name", value: snapshot.name)]
        name = snapshot.name
        compare = place.link("snapshots/compare", parameters)
        saved = ValueView(.time(snapshot.saved))
        records = Digits.grouped(snapshot.recordCount)
        users = Digits.grouped(snapshot.userCount)
        let count = snapshot.assets
        assets = count.references == 0 ? nil : "\(Digits.grouped(count.references)), \(Digits.bytes(count.bytes))"
        requests = snapshot.requests.map { Frame.Link(text: Digits.grouped($0), href: place.link("snapshots/requests", parameters)) }
        file = place.link("snapshots/file", parameters)
        restore = place.link("snapshots/restore", parameters)
        delete = place.link("snapshots/delete", parameters)
    }
}
