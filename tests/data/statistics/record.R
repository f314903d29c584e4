# Results of R that tests hold the statistics against: writes r.json beside python.json.
#
#     Rscript tests/data/statistics/record.R tests/data/statistics
#
# Needs jsonlite, diptest and robustbase.

library(jsonlite)
folder <- commandArgs(trailingOnly = TRUE)[1]
given <- fromJSON(file.path(folder, "python.json"))
x <- given$inputs
version <- paste0("R ", getRversion())
of <- function(package) paste0(package, " ", packageVersion(package), ", ", version)
found <- list()
record <- function(program, call, result) {
  found[[length(found) + 1]] <<- list(program = program, call = call, result = result)
}

w <- wilcox.test(x$two, x$one, conf.int = TRUE)
record(version, "wilcox.test(two, one, conf.int = TRUE)",
       list(p = w$p.value, shift = unname(w$estimate), interval = w$conf.int[1:2]))
k <- kruskal.test(list(x$one, x$two, x$skewed))
record(version, "kruskal.test(list(one, two, skewed))", c(unname(k$statistic), k$p.value))
f <- var.test(x$two, x$one)
record(version, "var.test(two, one)", c(unname(f$statistic), f$p.value))
v <- oneway.test(value ~ group, data.frame(
  value = c(x$one, x$two, x$skewed),
  group = rep(c("a", "b", "c"), c(length(x$one), length(x$two), length(x$skewed)))))
record(version, "oneway.test(value ~ group): one, two, skewed", c(unname(v$statistic), v$p.value))
for (name in names(x)) {
  record(version, paste0("mad(", name, ")"), mad(x[[name]]))
  record(version, paste0("shapiro.test(", name, ")"), shapiro.test(x[[name]])$p.value)
}
p <- c(0.01, 0.04, 0.03, 0.005, 0.6, 0.04, 0.9)
record(version, "p.adjust(p, 'holm')", p.adjust(p, "holm"))
record(version, "p.adjust(p, 'BH')", p.adjust(p, "BH"))
record(version, "binom.test(c(0, 3, 17), 17)", lapply(c(0, 3, 17), function(k)
  binom.test(k, 17)$conf.int[1:2]))
if (requireNamespace("diptest", quietly = TRUE)) {
  for (name in c("one", "two", "skewed", "long")) {
    record(of("diptest"), paste0("dip(", name, ")"), diptest::dip(x[[name]]))
  }
  apart <- c(x$one, x$two + 20)
  record(of("diptest"), "dip(c(one, two + 20))", diptest::dip(apart))
}
if (requireNamespace("robustbase", quietly = TRUE)) {
  for (name in c("one", "two", "skewed", "long")) {
    record(of("robustbase"), paste0("mc(", name, ", doReflect = FALSE)"),
           robustbase::mc(x[[name]], doReflect = FALSE, doScale = TRUE))
  }
}
# Type II by hand: each effect against the model of all others that don't contain it.
d <- as.data.frame(given$design)
rss <- function(formula) deviance(lm(formula, d))
full <- lm(value ~ adapters * order, d)
squares <- c(rss(value ~ order) - rss(value ~ adapters + order),
             rss(value ~ adapters) - rss(value ~ adapters + order),
             rss(value ~ adapters + order) - deviance(full))
df <- c(1, 2, 2)
f <- squares / df / (deviance(full) / df.residual(full))
record(version, "lm(value ~ adapters * order, design), type II",
       list(squares = squares, df = df, F = f,
            p = pf(f, df, df.residual(full), lower.tail = FALSE)))
write(toJSON(list(results = found), auto_unbox = TRUE, digits = NA, pretty = TRUE),
      file.path(folder, "r.json"))
