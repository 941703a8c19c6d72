internal import Records

/// First steps for an empty database.
package struct FirstSteps: ViewModel {
    let container: String
    /// The address to which a client sends its first record.
    let path: String
    let isProduction: Bool
    /// The links to the form of a new record and to the import of files.
    let newRecord: String
    let importing: String
    let development: String
    /// Links to other users whose databases are not empty.
    let others: [Frame.Link]

    package init(_ visit: Visit, others: [Frame.Link] = []) {
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
