internal import Records

/// First steps for an empty database.
package struct FirstSteps: ViewModel {
    let container: String
    /// A first save; `nil` in production, where a save makes no types.
    let client: ClientSnippets?
    /// The links to the form of a new record and to the import of files.
    let newRecord: String
    let importing: String
    /// The page that imports a schema file; `nil` if the engine has no schema.
    let schema: String?
    let development: String

    package init(_ visit: Visit) {
        let place = visit.place
        container = place.address.container.description
        client = place.address.environment == .production ? nil : ClientSnippets(place, server: visit.server)
        newRecord = place.link("record/new")
        importing = place.link(Tab.importing.rawValue)
        schema = visit.canEditSchema ? place.link(Tab.schema.rawValue) : nil
        development = place.with { $0.address.environment = .development }.link(Tab.query.rawValue)
    }
}
