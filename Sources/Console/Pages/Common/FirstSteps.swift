internal import Records

/// What to do in a database that has nothing yet.
struct FirstSteps: ViewModel {
    let container: String
    /// Where a client sends its first record.
    let path: String
    let isProduction: Bool
    /// The form of a new record, and where files are imported.
    let newRecord: String
    let importing: String
    let development: String
    /// Other users in whose database there is something.
    let others: [Frame.Link]

    init(_ visit: Visit, others: [Frame.Link] = []) {
        let address = visit.place.address
        container = address.container.description
        path = "/database/1/\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)/records/modify"
        isProduction = address.environment == .production
        newRecord = visit.place.link("record/new")
        importing = visit.place.link("importing")
        development = visit.place.with { $0.address.environment = .development }.link("query")
        self.others = others
    }
}
