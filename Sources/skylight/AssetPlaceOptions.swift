import ArgumentParser
import Records
import RecordStore

/// The options for the asset files that a command works on.
struct AssetPlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only this container. (default: all)", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "Only this environment. (default: both)")
    var environment: Environment?

    /// The selected places, sorted by name.
    /// - Throws: `CommandFailure` if the container does not exist.
    func places(in store: OpenStore) async throws -> [AssetPlace] {
        let places = try await store.assetPlaces()
        let found = places.filter { (container == nil || $0.container == container) && (environment == nil || $0.environment == environment) }
        if let container, !places.contains(where: { $0.container == container }) {
            let known = Set(places.map(\.container)).sorted().map(\.description).joined(separator: ", ")
            throw CommandFailure(
                .failed, "There is no container \(container); \(known.isEmpty ? "there are no containers yet" : "choose one of \(known)")", code: "NOT_FOUND")
        }
        return found
    }
}
