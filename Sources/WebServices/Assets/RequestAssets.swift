internal import AssetStore
internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records

/// The location of an environment's assets, for the duration of one request.
struct RequestAssets: Sendable {
    let stores: AssetStores
    let container: ContainerID
    let environment: Records.Environment
    private let request: Request

    init(_ stores: AssetStores, _ container: ContainerID, _ environment: Records.Environment, for request: Request) {
        self.stores = stores
        self.container = container
        self.environment = environment
        self.request = request
    }

    /// - Returns: `nil` if the container does not exist. A lookup must not create it.
    func existingStore() async throws -> AssetStore? {
        try await stores.existingStore(container, environment)
    }

    func links() async throws -> AssetLinks {
        try await stores.links(container, environment, origin: request.ownOrigin)
    }

    /// The download addresses of the assets in these records. `nil` if the records have no assets, or the engine keeps no
    /// files of this container; the asset store is then not opened.
    func addresses(in records: some Sequence<StoredRecord>) async throws -> AssetAddress? {
        guard stores.keepsFiles(of: container), records.contains(where: \.fields.mayHoldAssets) else { return nil }
        let links = try await links()
        return { asset, field in links.downloadURL(of: asset, in: field) }
    }
}
