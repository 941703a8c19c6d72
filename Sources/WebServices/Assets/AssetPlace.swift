internal import AssetStore
internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records

/// Where the assets of a container's environment are, for one request.
struct AssetPlace: Sendable {
    let stores: AssetStores
    let container: ContainerID
    let environment: Records.Environment
    /// Scheme, host and port that the request was sent to: under this address the client reaches the server.
    let origin: String

    init(_ stores: AssetStores, _ container: ContainerID, _ environment: Records.Environment, for request: Request) {
        self.stores = stores
        self.container = container
        self.environment = environment
        origin = request.ownOrigin
    }

    /// - Returns: `nil` when there is no such container: to ask for something in it would make one.
    func existingStore() async throws -> AssetStore? {
        try await stores.existingStore(container, environment)
    }

    func links() async throws -> AssetLinks {
        try await stores.links(container, environment, origin: origin)
    }

    /// Where assets can be fetched, for an answer with these records; `nil` when they have none, which spares the way to the store.
    func addresses(in records: some Sequence<StoredRecord>) async throws -> AssetAddress? {
        guard records.contains(where: \.fields.mayHoldAssets) else { return nil }
        let links = try await links()
        return { asset, field in links.downloadURL(of: asset, in: field) }
    }
}
