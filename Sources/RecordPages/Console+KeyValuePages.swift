internal import Console
internal import HTTPServing
internal import Records

extension Console {
    /// Adds the page of a user's key-value store.
    func addKeyValuePages(to router: Routes.Group) {
        show("keyvalues", on: router) { .page(try await KeyValuesView.load($0)) }
        submit("keyvalues", carries: .texts(of: KeyValueLimits.bytes), on: router) { try await KeyValuesView.submit($0) }
        show("keyvalues/remove", on: router) { .page(try KeyValuesView.confirmRemoval($0)) }
        act("keyvalues/remove", on: router) { try await KeyValuesView.remove($0) }
    }
}
