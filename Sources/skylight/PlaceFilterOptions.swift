import ArgumentParser
import Records

/// The options that restrict a command to a container or an environment.
struct PlaceFilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only this container. (default: all)", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "Only this environment. (default: both)")
    var environment: Environment?

    func includes(_ container: ContainerID, _ environment: Environment) -> Bool {
        (self.container == nil || self.container == container) && (self.environment == nil || self.environment == environment)
    }

    /// The files of the selected environments, sorted by name.
    /// - Throws: `CommandFailure` if the container does not exist.
    func assets(in store: any OpenStore) async throws -> [any EnvironmentAssets] {
        let all = try await store.allAssets()
        if let container, !all.contains(where: { $0.container == container }) { try await store.checkExists(container) }
        return all.filter { includes($0.container, $0.environment) }
    }
}
