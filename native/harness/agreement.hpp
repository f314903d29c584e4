// Ranks come to agree whether something worked, and on the words of the first that says it didn't.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace assay {

using Complaint = std::optional<std::string>;

// Collective. Nothing if no rank complains; otherwise, on every rank, the first complaint, with
// "rank R: " before it unless all ranks complain.
Complaint agree(MPI_Comm comm, const Complaint& mine);

// What a caught exception says; to be called inside a catch block.
std::string words_of_exception();

// Broadcasts a string of any length.
void broadcast(MPI_Comm comm, int root, std::string& text);

// Every rank's text in the order of ranks, on rank 0; nothing elsewhere.
std::vector<std::string> gather_texts(MPI_Comm comm, const std::string& mine);

}  // namespace assay
